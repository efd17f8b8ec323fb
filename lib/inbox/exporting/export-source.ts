import { RvmError } from '../../error';
import type { PageOfMessages } from '../store/page';
import type { PageQuery } from '../store/page-query';

/** An inbox whose events are read, and nothing else. */
export interface ExportSource {
  /** @throws RvmError STORE_FAILED */
  page(query: PageQuery): Promise<PageOfMessages>;
  close(): Promise<void>;
}

/** @param reason the end of a sentence: what is in the way, and what to do */
export function notReadable(reason: string): RvmError {
  return new RvmError('STORE_FAILED', `The inbox cannot be read: ${reason}.`);
}
