// Reading JSON whose form is not known: what is not there, or is something else, is `undefined`.

export type Facts = Readonly<Record<string, unknown>>;

/** The object, or an empty one. */
export function facts(value: unknown): Facts {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Facts) : {};
}

export function text(value: Facts, key: string): string | undefined {
  const found = value[key];
  return typeof found === 'string' ? found : undefined;
}

export function number(value: Facts, key: string): number | undefined {
  const found = value[key];
  return typeof found === 'number' && Number.isFinite(found) ? found : undefined;
}

export function inside(value: Facts, key: string): Facts | undefined {
  const found = value[key];
  return typeof found === 'object' && found !== null && !Array.isArray(found) ? (found as Facts) : undefined;
}

export function list(value: Facts, key: string): readonly unknown[] {
  const found = value[key];
  return Array.isArray(found) ? found : [];
}

/** The texts among the members. */
export function texts(value: Facts, key: string): string[] {
  return list(value, key).filter((member): member is string => typeof member === 'string');
}

/** Microseconds since 1970 of an RFC 3339 time, or 0: times of one session are compared more finely than `Date` can. */
export function micros(at: string | undefined | null): number {
  if (at === undefined || at === null) return 0;
  const millis = Date.parse(at);
  if (Number.isNaN(millis)) return 0;
  const fraction = /\.(\d+)/.exec(at)?.[1] ?? '';
  return Math.floor(millis / 1000) * 1_000_000 + Number(fraction.padEnd(6, '0').slice(0, 6));
}
