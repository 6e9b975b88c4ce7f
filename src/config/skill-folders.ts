import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Checker } from './checker.ts'

/** The absolute paths of the folders with skills. Warns of one that routes.yaml names and that is not there: most likely a slip. */
export function skillFolders(folders: readonly string[], isGiven: boolean, checker: Checker): string[] {
  const base = dirname(checker.fileOf(['skills']))
  return folders.map((folder, at) => {
    const path = resolve(base, folder)
    if (isGiven && !existsSync(path))
      checker.report(['skills', 'folders', at], 'value', `there is no folder ${path}`, 'warning')
    return path
  })
}
