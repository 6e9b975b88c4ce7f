import { createHash } from 'node:crypto'
import { createReadStream, existsSync, statSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import type { Readable } from 'node:stream'
import { TriviumError } from '../../core/errors.ts'
import type { Attachment } from '../../core/message.ts'
import type { Artifacts } from '../../core/transport.ts'
import { disk, syncDir, temporaryName } from '../../lib/disk.ts'

export type ArtifactStore = Artifacts & {
  /** The hashes of all that nobody saved (or saved again) since `before`, Unix ms. */
  olderThan(before: number): Promise<string[]>
  /** Removes one, unless it was saved again since `before`. Returns its bytes. */
  remove(sha256: string, before: number): number
}

/**
 * Large things beside the store, as `<data dir>/artifacts/<first two digits>/<sha256>`. The same bytes are
 * kept once.
 */
export function createArtifacts(dataDir: string): ArtifactStore {
  const root = join(dataDir, 'artifacts')
  const incoming = join(root, 'incoming')
  const pathOf = (sha256: string) => join(root, sha256.slice(0, 2), sha256)

  return {
    async save(name, type, body, limit) {
      disk.makeDir(incoming)
      const temporary = temporaryName(join(incoming, 'body'))
      const written = await receive(temporary, body, limit)
      const { sha256 } = written
      const kept = pathOf(sha256)
      const shard = dirname(kept)
      const isNew = !existsSync(shard)
      disk.makeDir(shard)
      // Always renamed, also over the same bytes: the new file's age protects it from a sweep.
      disk.rename(temporary, kept)
      await syncDir(shard)
      if (isNew) await syncDir(root)
      return { name, type, ...written, path: relative(dataDir, kept) } satisfies Attachment
    },
    open(sha256) {
      const path = pathOf(sha256)
      if (!/^[0-9a-f]{64}$/.test(sha256) || !existsSync(path))
        throw new TriviumError('artifact_not_found', { sha256 })
      return createReadStream(path)
    },
    async olderThan(before) {
      const old: string[] = []
      for await (const path of glob('{[0-9a-f][0-9a-f],incoming}/*', { cwd: root })) {
        if (!isOld(join(root, path), before)) continue
        // A writer that died left it.
        if (path.startsWith('incoming')) disk.remove(join(root, path))
        else old.push(basename(path))
      }
      return old
    },
    remove(sha256, before) {
      const path = pathOf(sha256)
      if (!isOld(path, before)) return 0
      const { size } = statSync(path)
      disk.remove(path)
      return size
    },
  }
}

async function receive(path: string, body: Readable, limit: number) {
  const hash = createHash('sha256')
  const fd = disk.open(path, 'w')
  let size = 0
  let complete = false
  try {
    for await (const chunk of body) {
      const bytes: Uint8Array = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
      size += bytes.length
      if (size > limit) throw new TriviumError('body_too_large', { limit })
      hash.update(bytes)
      disk.write(fd, bytes)
    }
    await disk.fsync(fd)
    complete = true
  } finally {
    disk.close(fd)
    if (!complete) disk.remove(path)
  }
  return { size, sha256: hash.digest('hex') }
}

function isOld(path: string, before: number): boolean {
  const found = statSync(path, { throwIfNoEntry: false })
  return found !== undefined && found.mtimeMs <= before
}
