import { createReadStream, createWriteStream } from 'node:fs'
import { open, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { extract, Header, Pax } from 'tar'
import { z } from 'zod'
import { reasonOf, TriviumError, unwritable } from '../core/errors.ts'
import { parseJson } from '../core/json.ts'
import { disk, isMissing, temporaryName } from '../lib/disk.ts'

/** What this Trivium writes and the newest that it reads. */
const FORMAT = 1

const manifestSchema = z.object({
  format: z.int(),
  /** The moment (ISO) that the database shows. */
  at: z.string(),
  /** How many files there are below `data/`. */
  files: z.int(),
})

type Manifest = z.infer<typeof manifestSchema>

/** A file for an archive: its path in there, and where it is. */
export type Source = { name: string; path: string }

/** The archive's last entry: without it, what was read is not the whole. */
const MANIFEST = 'manifest.json'
const DATA = 'data'

/**
 * Writes sources into a gzipped tar that only its owner reads, under a temporary name until it is whole and on the disk. A
 * source that is gone by the time it is read is left out. `progress` gets the bytes of each piece. Throws `state_unwritable`.
 */
export async function writeArchive(
  path: string,
  sources: AsyncIterable<Source>,
  at: string,
  progress: (bytes: number) => void,
): Promise<Manifest> {
  const temporary = temporaryName(path)
  const manifest: Manifest = { format: FORMAT, at, files: 0 }
  try {
    // What cannot be made is told before anything is read.
    const fd = disk.open(temporary, 'w')
    const out = createWriteStream(temporary, { fd, flush: true })
    // A copy that takes half as long is worth more than a tenth of its size.
    await pipeline(tarOf(sources, manifest, progress), createGzip({ level: 1 }), out)
    disk.rename(temporary, path)
    return manifest
  } catch (error) {
    throw unwritable(path, error)
  } finally {
    disk.remove(temporary)
  }
}

async function* tarOf(sources: AsyncIterable<Source>, manifest: Manifest, progress: (bytes: number) => void) {
  for await (const { name, path } of sources) {
    await using handle = await open(path).catch(orGone)
    if (!handle) continue
    // What is appended meanwhile came later.
    const { size } = await handle.stat()
    yield* headerOf(`${DATA}/${name}`, size)
    let read = 0
    while (read < size) {
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(Math.min(PIECE, size - read)))
      if (bytesRead === 0) throw new Error(`${path} became shorter while it was read; try again`)
      const piece = buffer.subarray(0, bytesRead)
      read += bytesRead
      progress(bytesRead)
      yield piece
    }
    yield paddingOf(size)
    manifest.files++
  }
  const content = Buffer.from(JSON.stringify(manifest))
  yield* [...headerOf(MANIFEST, content.length), content, paddingOf(content.length), Buffer.alloc(2 * BLOCK)]
}

const BLOCK = 512
const PIECE = 256 * 1024

function headerOf(path: string, size: number): Buffer[] {
  const header = new Header({ path, size, mode: 0o600, type: 'File', mtime: new Date() })
  const isLong = header.encode()
  return [...(isLong ? [new Pax({ path, size }).encode()] : []), header.block ?? Buffer.alloc(0)]
}

function paddingOf(size: number): Buffer {
  return Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK)
}

function orGone(error: unknown): undefined {
  if (!isMissing(error)) throw error
}

/**
 * Unpacks an archive into a new folder, and flushes each file. Returns its manifest and the folder with the files. Throws
 * `backup_unreadable` for one that is not whole (gzip ends with a checksum), and `store_version` for one of a newer Trivium.
 */
export async function readArchive(
  path: string,
  dir: string,
  progress: (bytes: number) => void,
): Promise<Manifest & { data: string }> {
  const data = join(dir, DATA)
  disk.makeDir(data)
  try {
    const source = createReadStream(path).on('data', (piece) => progress(piece.length))
    const onlyFiles = (_path: string, entry: object) => 'type' in entry && entry.type === 'File'
    await pipeline(source, extract({ cwd: dir, strict: true, filter: onlyFiles }))
    const found = manifestSchema.safeParse(parseJson(await readFile(join(dir, MANIFEST), 'utf8')))
    if (!found.success) throw new Error(`its ${MANIFEST} is not one of Trivium`)
    const { format } = found.data
    if (format > FORMAT) throw new TriviumError('store_version', { path, found: format, known: FORMAT })
    let files = 0
    for (const entry of await readdir(data, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue
      await using handle = await open(join(entry.parentPath, entry.name), 'r+')
      await handle.sync()
      files++
    }
    if (files !== found.data.files) throw new Error(`it has ${files} of ${found.data.files} files`)
    return { ...found.data, data }
  } catch (error) {
    if (error instanceof TriviumError) throw error
    throw new TriviumError('backup_unreadable', { path, reason: reasonOf(error) }, { cause: error })
  }
}
