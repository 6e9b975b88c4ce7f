import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Checker } from './checker.ts'

/**
 * The absolute paths of the skill folders. `isGiven`: routes.yaml names them; then a missing one is
 * probably a typo, and is a warning.
 */
export function skillFolders(folders: readonly string[], isGiven: boolean, checker: Checker): string[] {
  const base = dirname(checker.fileOf(['skills']))
  return folders.map((folder, index) => {
    const path = resolve(base, folder)
    if (isGiven && !existsSync(path))
      checker.report(['skills', 'folders', index], 'value', `there is no folder ${path}`, 'warning')
    return path
  })
}
