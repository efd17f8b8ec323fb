import fs from 'node:fs';
import path from 'node:path';
import { INBOX_FILE } from '../inbox-settings';
import { Bodies } from '../sqlite/tables/bodies';
import { HistoryTable } from '../sqlite/tables/history-table';
import { MessageLists } from '../sqlite/tables/message-lists';
import { offlineFault, openOffline } from '../sqlite/open-offline';
import { openDatabase } from '../sqlite/open';
import { prepareStatements } from '../sqlite/tables/statements';
import { notReadable, type ExportSource } from './export-source';

/**
 * Opens the file of an inbox to be exported, for this process alone. Nothing in it is changed but that it gets the schema of
 * this package.
 * @throws RvmError STORE_FAILED that says why it cannot be read now
 */
export function openFileSource(folder: string): ExportSource {
  const file = path.join(folder, INBOX_FILE);
  if (!fs.existsSync(file))
    throw notReadable(
      `there is no ${INBOX_FILE} in ${folder}: name the folder of the inbox with --folder, or its database with --url`,
    );
  try {
    return openOffline(file, () => sourceOf(file, folder));
  } catch (error) {
    throw notReadable(offlineFault(error, folder));
  }
}

function sourceOf(file: string, folder: string): ExportSource {
  const database = openDatabase(file);
  try {
    const statements = prepareStatements(database);
    // A body that cannot be read leaves its cells empty.
    const bodies = new Bodies(statements, () => undefined);
    const lists = new MessageLists(statements, new HistoryTable(statements), bodies);
    return {
      page: async (query) => {
        try {
          const page = lists.page(query);
          bodies.read();
          return page;
        } catch (error) {
          throw notReadable(offlineFault(error, folder));
        }
      },
      close: async () => database.close(),
    };
  } catch (error) {
    database.close();
    throw error;
  }
}
