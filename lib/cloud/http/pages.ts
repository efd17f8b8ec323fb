import type { JsonRecord } from '../../json/json';
import type { Answer } from './answer';
import { readPage } from './collection';
import { DIALECT } from '../dialect';
import type { Origins, TrustedUrl } from './origin';

/** One page of a collection: its records, and the address their links are relative to. */
export interface FetchedPage {
  readonly records: readonly JsonRecord[];
  readonly url: URL;
}

/**
 * The pages of a collection, one after the other, by the `next` that each names. They end at a page without one, an empty
 * page or an address that has been before, so that no service keeps us going round.
 * @param names the collection's own names, such as `devices`
 * @throws RvmError BAD_RESPONSE, UNTRUSTED_LINK, and what `ask` throws
 */
export async function* pagesFrom(
  first: Answer,
  names: readonly string[],
  origins: Origins,
  ask: (url: TrustedUrl) => Promise<Answer>,
  maxPages: number = DIALECT.collection.maxPages,
): AsyncGenerator<FetchedPage> {
  const seen = new Set([first.url.href]);
  let answer = first;
  let count = 0;
  let bytes = 0;
  while (seen.size <= maxPages) {
    const { records, next } = readPage(answer.empty ? {} : answer.json(), names);
    count += records.length;
    bytes += answer.body.length;
    if (count > DIALECT.collection.maxRecords || bytes > DIALECT.collection.maxBytes) {
      throw answer.error(
        'BAD_RESPONSE',
        'The service lists more than can be kept; report it to the service.',
      );
    }
    yield { records, url: answer.url };
    if (records.length === 0 || next === undefined) return;
    const url = origins.resolve(next, answer.url, answer.relation);
    if (seen.has(url.href)) return;
    answer = await ask(url);
    // A redirect may lead back, too.
    if (seen.has(answer.url.href)) return;
    seen.add(url.href);
  }
}
