import { createHash } from 'node:crypto'
import { createReadStream, existsSync, statSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Readable } from 'node:stream'
import { TriviumError } from '../../core/errors.ts'
import type { Attachment } from '../../core/message.ts'
import type { Artifacts } from '../../core/transport.ts'
import { type Disk, disk, syncDir, temporaryName } from '../../lib/disk.ts'

export type ArtifactStore = Artifacts & {
  has(sha256: string): boolean
  /** The hashes of all that nobody saved (or saved again) since `before`, Unix ms. */
  olderThan(before: number): Promise<string[]>
  /** Removes one, unless it was saved again since `before`. Returns its bytes. */
  remove(sha256: string, before: number): number
}

/**
 * Large things beside the store, as `<data dir>/artifacts/<first two digits>/<sha256>`. The same bytes are
 * kept once. `gateway` only stands in the error about the limit.
 */
export function createArtifacts(
  dataDir: string,
  options: { gateway?: string; disk?: Disk } = {},
): ArtifactStore {
  const target = options.disk ?? disk
  const root = join(dataDir, 'artifacts')
  const incoming = join(root, 'incoming')
  const pathOf = (sha256: string) => {
    if (!/^[0-9a-f]{64}$/.test(sha256)) throw new TriviumError('artifact_not_found', { sha256 })
    return join(root, sha256.slice(0, 2), sha256)
  }

  return {
    async save(name, type, body, limit) {
      target.makeDir(incoming)
      const temporary = temporaryName(join(incoming, 'body'))
      const written = await receive(target, temporary, body, limit, options.gateway ?? '')
      const { sha256 } = written
      const shard = join(root, sha256.slice(0, 2))
      const isNew = !existsSync(shard)
      target.makeDir(shard)
      // Always renamed, also over the same bytes: the new file's age protects it from a sweep.
      target.rename(temporary, join(shard, sha256))
      await syncDir(shard, target)
      if (isNew) await syncDir(root, target)
      const path = `artifacts/${sha256.slice(0, 2)}/${sha256}`
      return { name, type, ...written, path } satisfies Attachment
    },
    open(sha256) {
      const path = pathOf(sha256)
      if (!existsSync(path)) throw new TriviumError('artifact_not_found', { sha256 })
      return createReadStream(path)
    },
    has: (sha256) => existsSync(pathOf(sha256)),
    async olderThan(before) {
      const old: string[] = []
      for await (const path of glob('{[0-9a-f][0-9a-f],incoming}/*', { cwd: root })) {
        if (!isOld(join(root, path), before)) continue
        // A writer that died left it.
        if (path.startsWith('incoming')) target.remove(join(root, path))
        else old.push(basename(path))
      }
      return old
    },
    remove(sha256, before) {
      const path = pathOf(sha256)
      if (!isOld(path, before)) return 0
      const { size } = statSync(path)
      target.remove(path)
      return size
    },
  }
}

async function receive(target: Disk, path: string, body: Readable, limit: number, gateway: string) {
  const hash = createHash('sha256')
  const fd = target.open(path, 'w')
  let size = 0
  let complete = false
  try {
    for await (const chunk of body) {
      const bytes: Uint8Array = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
      size += bytes.length
      if (size > limit) throw new TriviumError('body_too_large', { limit, gateway })
      hash.update(bytes)
      target.write(fd, bytes)
    }
    await target.fsync(fd)
    complete = true
  } finally {
    target.close(fd)
    if (!complete) target.remove(path)
  }
  return { size, sha256: hash.digest('hex') }
}

function isOld(path: string, before: number): boolean {
  const found = statSync(path, { throwIfNoEntry: false })
  return found !== undefined && found.mtimeMs <= before
}
