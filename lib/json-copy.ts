import { isRecord, type JsonRecord } from './json-record';

/**
 * A copy of a record that was read from JSON, all the way down. `structuredClone`, which knows of cycles, dates and maps,
 * takes several times as long. The depth of the record is bounded by whoever read it, and forbidden keys are gone from it.
 */
export function copyOfJson<Kind extends JsonRecord>(record: Kind): Kind {
  const copy: JsonRecord & Kind = { ...record };
  for (const [name, value] of Object.entries(record))
    if (typeof value === 'object' && value !== null) Object.assign(copy, { [name]: copyOfValue(value) });
  return copy;
}

function copyOfValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyOfValue);
  return isRecord(value) ? copyOfJson(value) : value;
}
