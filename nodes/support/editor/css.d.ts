/** Styles that a script brings along: the build puts them beside it. */
declare module '*.css';
