import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { reasonOf, TriviumError } from '../../core/errors.ts'

let count = 0

/** How temporary files end; a crash may leave one behind, and nobody reads it. */
const TEMPORARY = '.tmp'

/**
 * Writes a file so that a crash at any moment leaves the old one or the new one, whole: a temporary file in the
 * same directory, fsync, rename, fsync of the directory. Mode 0600. Throws `state_unwritable`.
 */
export async function writeWhole(path: string, text: string): Promise<void> {
  count += 1
  const temporary = `${path}.${process.pid}-${count}${TEMPORARY}`
  try {
    const file = await open(temporary, 'w', 0o600)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, path)
    await syncFolder(dirname(path))
  } catch (error) {
    await rm(temporary, { force: true })
    throw new TriviumError('state_unwritable', { path, reason: reasonOf(error) }, { cause: error })
  }
}

/** Removes a file for good. False: there was none. */
export async function removeWhole(path: string): Promise<boolean> {
  try {
    await rm(path)
  } catch (error) {
    if (isMissing(error)) return false
    throw new TriviumError('state_unwritable', { path, reason: reasonOf(error) }, { cause: error })
  }
  await syncFolder(dirname(path))
  return true
}

/** True for the error of a file or folder that is not there. */
export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
