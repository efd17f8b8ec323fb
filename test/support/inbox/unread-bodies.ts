import { StatementSync } from 'node:sqlite';
import { replaceMethod } from '../suite/replaced-method';

/** Extended code of SQLite for a disk that fails to read. */
const SQLITE_IOERR_READ = 266;

/**
 * From now on the disk fails to give bodies of messages to this thread; all else can be read and written.
 * @param fails of which sequences; not given = of all
 * @returns the way to end that
 */
export function failToReadBodies(fails: (sequence: number) => boolean = () => true): () => void {
  return replaceMethod<StatementSync>(StatementSync.prototype, 'get', (former) => {
    return function get(...values) {
      if (/SELECT .*\bbytes\b.* FROM body\b/.test(this.sourceSQL) && fails(Number(values[0])))
        throw Object.assign(new Error('disk I/O error'), { errcode: SQLITE_IOERR_READ });
      return Reflect.apply(former, this, values);
    };
  });
}
