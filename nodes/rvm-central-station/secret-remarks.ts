/** What may be wrong with a phrase, which nobody can see in a password field. */
export type SecretRemark = 'edges' | 'invisible' | 'typographic' | 'weak';

const INVISIBLE = /[\p{Cc}\p{Cf}\u00a0]/u;
/** Quotes and dashes that word processors and mail programs put in the place of those typed. */
const TYPOGRAPHIC = /[\u2010-\u2015\u2018-\u201f\u2026]/;
/** Characters: of fewer, or of fewer different ones, a phrase can be guessed. */
const LEAST_LENGTH = 16;
const LEAST_DIFFERENT = 6;

/** What to tell of a phrase. It is kept exactly as typed all the same. */
export function remarksOn(secret: string): SecretRemark[] {
  if (secret === '') return [];
  const found: [SecretRemark, boolean][] = [
    ['edges', secret !== secret.trim()],
    ['invisible', INVISIBLE.test(secret)],
    ['typographic', TYPOGRAPHIC.test(secret)],
    ['weak', secret.length < LEAST_LENGTH || new Set(secret).size < LEAST_DIFFERENT],
  ];
  return found.filter(([, isSo]) => isSo).map(([remark]) => remark);
}
