/**
 * A camera of the service (specification, section 2, Device). Every field the service sent is kept;
 * `id`, `name`, `site`, `status` and `online` are filled from alternative spellings only where absent.
 */
export interface Device {
  id: string;
  name: string;
  site: string;
  status: string;
  /** True where the status marks a usable camera (`online`). */
  online: boolean;
  _links?: Record<string, unknown>;
  [field: string]: unknown;
}

/** What of a listed camera its events may name. */
export interface ListedCamera {
  id: string;
  /** By which its site knows it; absent where the list does not show it. */
  remoteId?: string;
  site: string;
}
