import { readdir } from 'node:fs/promises'

/**
 * The folders `before-restore-…` of a data directory, as the field `beforeRestore` of a result. A
 * `restore --force` moved the earlier content there. Nothing in these folders is counted, exported
 * or erased. The field is absent if there are none.
 */
export async function uncounted(dataDir: string): Promise<{ beforeRestore?: string[] }> {
  const entries = await readdir(dataDir, { withFileTypes: true })
  const folders = entries.filter((entry) => entry.isDirectory() && entry.name.startsWith('before-restore-'))
  return folders.length === 0 ? {} : { beforeRestore: folders.map(({ name }) => name).toSorted() }
}
