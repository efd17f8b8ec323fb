/**
 * A camera of the service (specification, section 2, Device). Every field the service sent is kept; `id`, `name`, `site`,
 * `status` and `online` are filled from alternative spellings only where absent.
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

/** The ids of a listed camera that events may contain. */
export interface ListedCamera {
  id: string;
  /** Id of the camera at its site; absent where the list does not have it. */
  remoteId?: string;
  site: string;
}
