// A JSON Schema of arguments as rows that a person reads. What it does not understand it shows as it is, never hides.

export interface Parameter {
  name: string;
  type: string;
  required: boolean;
  description: string;
  /** Limits in words: `one of a, b`, `1 to 10`, `at most 200 characters`. */
  limits: string[];
}

type Schema = Record<string, unknown>;

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function say(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** `string`, `number or nothing`, `list of string`. */
export function typeWords(schema: unknown, root: Schema = {}): string {
  const known = resolve(schema, root);
  if (!isSchema(known)) return 'anything';
  const several = [known.anyOf, known.oneOf].find((list) => Array.isArray(list)) as unknown[] | undefined;
  if (several !== undefined) return [...new Set(several.map((one) => typeWords(one, root)))].join(' or ');
  if ('const' in known) return say(known.const);
  const type = known.type;
  if (Array.isArray(type)) return type.map((one) => (one === 'null' ? 'nothing' : say(one))).join(' or ');
  if (type === 'null') return 'nothing';
  if (type === 'array') return `list of ${typeWords(known.items, root)}`;
  if (typeof type === 'string') return type;
  return Array.isArray(known.enum) ? 'string' : 'anything';
}

function resolve(schema: unknown, root: Schema): unknown {
  let at = schema;
  for (let hops = 0; hops < 8 && isSchema(at) && typeof at.$ref === 'string'; hops += 1) {
    const path = at.$ref.replace(/^#\/?/, '').split('/');
    let found: unknown = root;
    for (const part of path) found = isSchema(found) ? found[part] : undefined;
    at = found;
  }
  return at;
}

function limits(schema: Schema): string[] {
  const found: string[] = [];
  const list = schema.enum;
  if (Array.isArray(list)) found.push(`one of ${list.map(say).join(', ')}`);
  const span = (low: unknown, high: unknown, unit: string) => {
    const tail = unit === '' ? '' : ` ${unit}`;
    if (low !== undefined && high !== undefined) found.push(`${say(low)} to ${say(high)}${tail}`);
    else if (low !== undefined) found.push(`at least ${say(low)}${tail}`);
    else if (high !== undefined) found.push(`at most ${say(high)}${tail}`);
  };
  span(schema.minimum, schema.maximum, '');
  span(schema.minLength, schema.maxLength, 'characters');
  span(schema.minItems, schema.maxItems, 'entries');
  if (schema.pattern !== undefined) found.push(`matches ${say(schema.pattern)}`);
  if (schema.default !== undefined) found.push(`default ${say(schema.default)}`);
  return found;
}

/** The arguments in the order in which the schema has them, the required ones first. */
export function parameters(schema: unknown): Parameter[] {
  if (!isSchema(schema) || !isSchema(schema.properties)) return [];
  const required = new Set(Array.isArray(schema.required) ? schema.required.map(say) : []);
  const rows = Object.entries(schema.properties).map(([name, raw]) => {
    const found = resolve(raw, schema);
    const inner = isSchema(found) ? found : {};
    const own = isSchema(raw) ? raw : {};
    const description = own.description ?? inner.description;
    return {
      name,
      type: typeWords(raw, schema),
      required: required.has(name),
      description: typeof description === 'string' ? description : '',
      limits: limits({ ...inner, ...own }),
    };
  });
  return rows.toSorted((left, right) => Number(right.required) - Number(left.required));
}
