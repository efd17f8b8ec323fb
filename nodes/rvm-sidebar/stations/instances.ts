import { readAll } from '../../../lib/inbox/reading/read-all';
import { openInboxes } from '../../rvm-inbox/inboxes';
import type { SharingRow } from '../overview';

/** Who shares the inboxes of this process, as far as they can be read; of one that nobody shares there is nothing to tell. */
export async function sharingRows(): Promise<SharingRow[]> {
  const shared = openInboxes().filter(({ place }) => place.folder === undefined);
  const { answers } = await readAll(shared, async ({ inbox, place }) => ({
    inbox: place.title,
    instances: await inbox.instances(),
  }));
  return answers.filter(({ instances }) => instances.length > 0);
}
