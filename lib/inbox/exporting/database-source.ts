import { RvmError } from '../../error';
import { SETTINGS_STEP } from '../postgres/calls/batch-settings';
import { Paging } from '../postgres/calls/paging';
import { tablesOf } from '../postgres/calls/tables';
import { connect } from '../postgres/connection/connect';
import { faultText } from '../postgres/connection/fault';
import type { ConnectionSettings } from '../postgres/connection-settings';
import { inspect, SCHEMA_VERSION } from '../postgres/schema';
import type { Session } from '../postgres/session';
import { reasonOf } from '../store/port';
import type { PageOfMessages } from '../store/page';
import { notReadable, type ExportSource } from './export-source';

/**
 * Connects to the inbox of a database to be exported, which Node-RED may use meanwhile.
 * @throws RvmError STORE_FAILED that says why it cannot be read now, CONFIG_MISSING for settings of TLS that cannot be used
 */
export async function openDatabaseSource(settings: ConnectionSettings): Promise<ExportSource> {
  const { session } = await connect(settings, 'export').catch(failed);
  const close = (): Promise<void> => session.client.end().catch(() => undefined);
  try {
    await refuseOther(session, settings.schema);
  } catch (error) {
    await close();
    throw error;
  }
  const paging = new Paging(tablesOf(settings.schema));
  return {
    page: async (take) => {
      const step = paging.page({ id: 0, name: 'page', take });
      const rows = await session
        .transaction(() => [session.run(SETTINGS_STEP.statement), session.run(step.statement, step.values)])
        .catch(failed);
      const [reply] = step.read?.(rows[1] ?? []) ?? [];
      return (reply?.give ?? []) as PageOfMessages;
    },
    close,
  };
}

/** @throws RvmError STORE_FAILED where there is no inbox, or one of another version of the package */
async function refuseOther(session: Session, schema: string): Promise<void> {
  const version = await inspect(session, schema).catch(failed);
  if (version === undefined)
    throw notReadable(
      `there is none in the schema "${schema}" of this database: name its schema with --schema`,
    );
  if (version < SCHEMA_VERSION)
    throw notReadable(
      `the schema "${schema}" is of an earlier version of this package: start Node-RED with this version once, and run this again`,
    );
}

function failed(error: unknown): never {
  if (!(error instanceof RvmError)) throw notReadable(`the database has failed: ${faultText(error)}`);
  throw error.code === 'STORE_FAILED' ? notReadable(reasonOf(error)) : error;
}
