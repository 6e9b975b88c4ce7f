import { dirname, relative } from 'node:path'

/** A path as people see it: relative to a folder if it is inside, otherwise absolute. */
export function shownPath(folder: string, path: string): string {
  const shown = relative(folder, path)
  // In the root folder, everything is inside.
  const isInside = !/^\.\.(?:[/\\]|$)/.test(shown) && dirname(folder) !== folder
  return isInside ? shown || '.' : path
}
