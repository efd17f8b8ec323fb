const GUID = /^\{?([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\}?$/i;

/**
 * The form in which two spellings of one GUID are equal: no braces, lower case, any version digit. Undefined for
 * any other id: those are compared exactly.
 */
export function guidForm(id: string): string | undefined {
  return GUID.exec(id)?.[1]?.toLowerCase();
}
