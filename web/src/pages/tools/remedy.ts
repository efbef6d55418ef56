// What to do about a connection that does not work, from the words of its problem. Never guesses more than the words say.

const REMEDIES: [RegExp, string][] = [
  [/certificate|tls|x509|self.signed|fingerprint/i, 'The certificate is not trusted. Set the correct CA or fingerprint of the connection in the configuration.'],
  [/\b401\b|unauthori[sz]ed|authentication|token|password|credential/i, 'The credentials were rejected. Create a new token there, store it where the configuration reads it, and restart the server.'],
  [/\b403\b|forbidden|permission|privilege/i, 'Permission denied: the credentials are valid but lack privileges. Grant the privileges that the documentation lists.'],
  [/resolve|dns|name or service|no such host/i, 'The host name does not resolve. Check the address in the configuration and the DNS of this machine.'],
  [/refused|unreachable|no route|reset/i, 'The service is not reachable. Check that the service is running, and check the address, the port and the firewall.'],
  [/time[d ]?.?out|deadline/i, 'Timeout. Check that the service is up and not overloaded, and check the network.'],
  [/\b404\b|not found|version|unsupported/i, 'Unexpected response. Check the address, and that the version of the service is supported.'],
];

export function remedy(problem: string | null | undefined): string {
  const found = REMEDIES.find(([words]) => words.test(problem ?? ''));
  return found?.[1] ?? 'Run interlock doctor --online for details and what to change.';
}
