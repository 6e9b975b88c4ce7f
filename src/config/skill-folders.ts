import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Checker } from './checker.ts'

/**
 * The absolute paths of the skill folders. Warns about a missing folder that routes.yaml names,
 * which is probably a typo.
 */
export function skillFolders(folders: readonly string[], isGiven: boolean, checker: Checker): string[] {
  const base = dirname(checker.fileOf(['skills']))
  return folders.map((folder, at) => {
    const path = resolve(base, folder)
    if (isGiven && !existsSync(path))
      checker.report(['skills', 'folders', at], 'value', `there is no folder ${path}`, 'warning')
    return path
  })
}
