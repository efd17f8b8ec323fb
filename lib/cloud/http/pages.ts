import type { JsonRecord } from '../../json/json';
import { DIALECT } from '../dialect';
import type { Answer } from './answer';
import type { Origins, TrustedUrl } from './origins';
import { readPage } from './records';

/** One page of a collection: its records, and their base address. */
export interface FetchedPage {
  readonly records: readonly JsonRecord[];
  readonly url: URL;
}

/**
 * The pages of a collection, each from the `next` of the page before. They end at a page without `next`, an empty page or a
 * repeated address, so that no service causes an endless loop.
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
