/** Where the dialog of *webhook in* begins the paths that it makes: what is posted there is meant for one. */
export const PATHS_BEGIN = '/remote-monitoring/';
