/** Styles imported by a script; the build writes them next to it. */
declare module '*.css';
