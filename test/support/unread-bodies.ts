import { StatementSync, type SQLOutputValue } from 'node:sqlite';

type Row = Record<string, SQLOutputValue>;

/** Extended code of SQLite for a disk that fails to read. */
const SQLITE_IOERR_READ = 266;

/**
 * From now on the disk fails to give bodies of messages to this thread; all else can be read and written.
 * @param fails of which sequences; not given = of all
 * @returns the way to end that
 */
export function failToReadBodies(fails: (sequence: number) => boolean = () => true): () => void {
  const { prototype } = StatementSync;
  const former = prototype.get;
  prototype.get = function get(this: StatementSync, ...values: unknown[]): Row | undefined {
    if (/SELECT .*\bbytes\b.* FROM body\b/.test(this.sourceSQL) && fails(Number(values[0])))
      throw Object.assign(new Error('disk I/O error'), { errcode: SQLITE_IOERR_READ });
    return Reflect.apply(former, this, values) as Row | undefined;
  };
  return () => {
    prototype.get = former;
  };
}
