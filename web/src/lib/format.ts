// Numbers with units, for people.

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const;

/** `1536` → `1.5 KiB`. */
export function bytes(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  let left = Math.abs(value);
  let unit = 0;
  while (left >= 1024 && unit < UNITS.length - 1) {
    left /= 1024;
    unit += 1;
  }
  const digits = unit === 0 || left >= 100 ? 0 : 1;
  return `${value < 0 ? '−' : ''}${left.toFixed(digits)} ${UNITS[unit] ?? 'B'}`;
}

/** `42.13` → `42.1 %`. Takes percent, not a part of one. */
export function percent(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  return `${value.toFixed(Math.abs(value) >= 100 || Number.isInteger(value) ? 0 : 1)} %`;
}

/** Seconds as people say them: `84 ms`, `1.2 s`, `3 min 20 s`, `2 h 5 min`, `4 d 3 h`. */
export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return '–';
  const value = Math.max(0, seconds);
  if (value === 0) return '0 s';
  if (value < 0.9995) return `${Math.max(1, Math.round(value * 1000))} ms`;
  if (value < 9.95) return `${value.toFixed(1)} s`;
  const whole = Math.round(value);
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return whole % 60 === 0 ? `${minutes} min` : `${minutes} min ${whole % 60} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
  const days = Math.floor(hours / 24);
  return hours % 24 === 0 ? `${days} d` : `${days} d ${hours % 24} h`;
}

/** Seconds as a clock: `09:41`, `1:02:03`. */
export function clock(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const two = (value: number) => String(value).padStart(2, '0');
  const hours = Math.floor(whole / 3600);
  const rest = `${two(Math.floor((whole % 3600) / 60))}:${two(whole % 60)}`;
  return hours > 0 ? `${hours}:${rest}` : rest;
}

/** What something costs, in the currency of the configured prices. */
export function money(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  if (value === 0) return '0.00';
  if (Math.abs(value) < 0.01) return value.toFixed(4);
  return value.toFixed(2);
}

/** A whole number with separators: `12,345`. */
export function count(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  return value.toLocaleString('en-US');
}

/** A large number in little room: `12.3K`. */
export function compact(value: number): string {
  return value.toLocaleString('en-US', { notation: 'compact', maximumFractionDigits: 1 });
}

/** The end of a long id, which differs where the beginning is the time. */
export function shortId(id: string): string {
  return id.length <= 10 ? id : `…${id.slice(-8)}`;
}

/** How long ago, in a few words. What is to come says so. */
export function ago(milliseconds: number): string {
  // Clocks differ a little, and ours steps: what is a few seconds ahead is now.
  if (milliseconds > -8000 && milliseconds < 10_000) return 'just now';
  const future = milliseconds < 0;
  const seconds = Math.round(Math.abs(milliseconds) / 1000);
  const say = (text: string) => (future ? `in ${text}` : `${text} ago`);
  if (seconds < 60) return say(`${seconds} s`);
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return say(`${minutes} min`);
  const hours = Math.round(minutes / 60);
  if (hours < 48) return say(`${hours} h`);
  return say(`${Math.round(hours / 24)} d`);
}

/** The exact time, in the reader's own zone, with the zone. */
export function exact(iso: string): string {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return iso;
  return at.toLocaleString(undefined, {
    year: 'numeric', month: 'short', day: '2-digit', hour: '2-digit', minute: '2-digit', second: '2-digit',
    hour12: false, timeZoneName: 'short',
  });
}

/** `1 session`, `2 sessions`. */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}
