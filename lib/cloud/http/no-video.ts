import type { RvmError } from '../../error';
import { DIALECT } from '../dialect';

/** Whether the service says that there is no recorded video (yet). */
export function saysNoVideo({ cause: { serverCode = '' } }: RvmError): boolean {
  return DIALECT.error.noVideo.includes(serverCode.toLowerCase());
}
