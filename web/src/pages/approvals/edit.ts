// Arguments as a form and back: what kind of field each is, what was typed, what differs. Pure.

export type Arguments = Record<string, unknown>;
export type FieldKind = 'text' | 'choice' | 'number' | 'switch' | 'json';

export interface Field {
  name: string;
  kind: FieldKind;
  help: string | undefined;
  required: boolean;
  choices: string[];
}

interface Property {
  type?: unknown;
  enum?: unknown;
  description?: unknown;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function typesOf(property: Property): string[] {
  const list: unknown[] = Array.isArray(property.type) ? property.type : [property.type];
  return list.filter((each): each is string => typeof each === 'string' && each !== 'null');
}

function kindOf(property: Property, value: unknown): FieldKind {
  const choices = Array.isArray(property.enum) && property.enum.every((each) => typeof each === 'string');
  if (choices) return 'choice';
  const types = typesOf(property);
  const type = types.length === 1 ? types[0] : undefined;
  // What is there decides when the schema says nothing, or something else.
  if (typeof value === 'string') return type === undefined || type === 'string' ? 'text' : 'json';
  if (typeof value === 'number') return 'number';
  if (typeof value === 'boolean') return 'switch';
  if (value === undefined || value === null) {
    if (type === 'string') return 'text';
    if (type === 'number' || type === 'integer') return 'number';
    if (type === 'boolean') return 'switch';
  }
  return 'json';
}

/** The fields: those of the schema in its order, then arguments that it does not know. */
export function fieldsOf(schema: unknown, args: Arguments): Field[] {
  const properties = isObject(schema) && isObject(schema.properties) ? schema.properties : {};
  const required = isObject(schema) && Array.isArray(schema.required) ? schema.required : [];
  const names = [...Object.keys(properties), ...Object.keys(args).filter((name) => !(name in properties))];
  return names.map((name) => {
    const raw: unknown = properties[name];
    const property: Property = isObject(raw) ? raw : {};
    const kind = kindOf(property, args[name]);
    return {
      name,
      kind,
      help: typeof property.description === 'string' ? property.description : undefined,
      required: required.includes(name),
      choices: kind === 'choice' && Array.isArray(property.enum) ? property.enum.filter((each): each is string => typeof each === 'string') : [],
    };
  });
}

/** What stands in the form: text for each field, nothing for what is left out. */
export type Draft = Record<string, string | boolean | undefined>;

export function draftOf(fields: readonly Field[], args: Arguments): Draft {
  const draft: Draft = {};
  for (const { name, kind } of fields) {
    const value = args[name];
    if (value === undefined) draft[name] = undefined;
    else if (kind === 'switch') draft[name] = value === true;
    else if (kind === 'json') draft[name] = JSON.stringify(value, null, 2);
    else draft[name] = typeof value === 'string' ? value : JSON.stringify(value);
  }
  return draft;
}

export interface Read {
  arguments: Arguments;
  /** By field, what is wrong with it. */
  errors: Record<string, string>;
}

/** The form as arguments. An empty field that was not there before stays away. */
export function readDraft(fields: readonly Field[], draft: Draft, before: Arguments): Read {
  const out: Arguments = {};
  const errors: Record<string, string> = {};
  for (const field of fields) {
    const typed = draft[field.name];
    if (typed === undefined || (typed === '' && !(field.kind === 'text' && before[field.name] !== undefined))) {
      if (field.required) errors[field.name] = 'This field is required.';
      continue;
    }
    if (typeof typed === 'boolean' || field.kind === 'text' || field.kind === 'choice') {
      out[field.name] = typed;
    } else if (field.kind === 'number') {
      const value = Number(typed);
      if (Number.isFinite(value)) out[field.name] = value;
      else errors[field.name] = 'This must be a number.';
    } else {
      const value = parseJson(typed);
      if ('error' in value) errors[field.name] = value.error;
      else out[field.name] = value.value;
    }
  }
  return { arguments: out, errors };
}

export function parseJson(text: string): { value: unknown } | { error: string } {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    return { error: `This is not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}

/** All arguments as one text. */
export function readRaw(text: string): { arguments: Arguments } | { error: string } {
  const parsed = parseJson(text);
  if ('error' in parsed) return parsed;
  return isObject(parsed.value) ? { arguments: parsed.value } : { error: 'The arguments must be a JSON object: { … }' };
}

function same(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((each, index) => same(each, b[index]));
  if (isObject(a) && isObject(b)) {
    const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
    return [...keys].every((key) => same(a[key], b[key]));
  }
  return false;
}

/** What differs, argument by argument. */
export function changesOf(before: Arguments, after: Arguments): { field: string; before?: unknown; after?: unknown }[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names
    .filter((name) => !same(before[name], after[name]))
    .map((field) => ({ field, before: before[field], after: after[field] }));
}
