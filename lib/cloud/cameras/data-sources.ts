import { isRecord, type JsonRecord } from '../../json/json';
import { DIALECT } from '../dialect';
import type { Answer } from '../http/answer';
import { readPage, wrappedLinks } from '../http/collection';
import { firstText } from '../http/json-field';
import type { TrustedUrl } from '../http/origin';
import { remoteIdOf } from './device-record';

/** What one data source offers: its links, and the remote id that it shows. */
export interface DataSource {
  readonly resource: JsonRecord;
  /** The address that its links are relative to. */
  readonly url: URL;
  readonly remoteId: string | undefined;
  /** Those of its links that have been used, made absolute. */
  readonly addresses: Map<string, TrustedUrl>;
}

/**
 * The data sources in the answer to `rel/data_sources`: the resource itself first, then its elements, those with pictures
 * before the others.
 * @throws RvmError BAD_RESPONSE
 */
export function dataSourcesIn(answer: Answer): DataSource[] {
  return records(answer.json()).map((record) => ({
    // Of each record only what is asked for later: there may be thousands.
    resource: { _links: record['_links'] },
    url: answer.url,
    remoteId: remoteIdOf(record),
    addresses: new Map(),
  }));
}

function records(body: unknown): JsonRecord[] {
  const elements = readPage(body, DIALECT.collection.dataSources).records;
  const video = elements.filter((element) => isVideo(element));
  const others = elements.filter((element) => !isVideo(element));
  const own = isRecord(body) ? { ...body, ...wrappedLinks(body) } : undefined;
  return [...(own === undefined ? [] : [own]), ...video, ...others].slice(0, DIALECT.collection.maxSources);
}

function isVideo(element: JsonRecord): boolean {
  const { type, video } = DIALECT.dataSource;
  return firstText(element, type)?.toLowerCase() === video;
}
