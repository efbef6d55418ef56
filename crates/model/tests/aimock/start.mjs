// Serves the providers' wires on a free port of the loopback, prints its address, and ends when its input ends.
import { LLMock } from "@copilotkit/aimock";

const mock = new LLMock({ port: 0, host: "127.0.0.1", chunkSize: 7, logLevel: "silent" });

mock.addFixture({
  match: { userMessage: "plain" },
  response: { content: "Hello from the other side, größer and ✓.", reasoning: "Let me think about this." },
});
mock.addFixture({
  match: { userMessage: "tool", hasToolResult: false },
  response: {
    reasoning: "I need to look.",
    toolCalls: [
      { name: "grafana__query", arguments: JSON.stringify({ q: "up", deep: { list: [1, "zwölf"] } }) },
      { name: "grafana__query", arguments: "{}" },
    ],
  },
});
mock.addFixture({ match: { userMessage: "tool", hasToolResult: true }, response: { content: "It is up." } });
mock.addFixture({
  match: { userMessage: "cut" },
  response: { content: "This will never come to its end, because it is cut off." },
  latency: 20,
  truncateAfterChunks: 6,
});
mock.addFixture({
  match: { userMessage: "broken" },
  response: { content: "word ".repeat(200) },
  latency: 20,
  disconnectAfterMs: 100,
});
mock.addFixture({
  match: { userMessage: "refused" },
  response: { error: { message: "Rate limited", type: "rate_limit_error" }, status: 429 },
});

await mock.start();
process.stdout.write(`${mock.url}\n`);
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
