// Numbers over time: what they come to, and fewer of them.

export type Points = readonly (readonly number[])[];

export interface Summary {
  last: number;
  least: number;
  most: number;
}

/** The last, the least and the most; nothing if there are none. */
export function summary(points: Points): Summary | undefined {
  let found: Summary | undefined;
  for (const [, value] of points) {
    if (value === undefined || !Number.isFinite(value)) continue;
    found = found
      ? { last: value, least: Math.min(found.least, value), most: Math.max(found.most, value) }
      : { last: value, least: value, most: value };
  }
  return found;
}

/** At most so many, evenly spread; the first and the last are always among them. */
export function thin(points: Points, most: number): Points {
  if (points.length <= most || most < 2) return points;
  const step = (points.length - 1) / (most - 1);
  return Array.from({ length: most }, (_, index) => points[Math.round(index * step)] ?? []);
}
