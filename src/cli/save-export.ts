import * as fs from 'node:fs'
import { dirname, parse, resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { z } from 'zod'
import { unwritable } from '../core/errors.ts'
import type { Json } from '../core/json.ts'
import { disk, temporaryName } from '../lib/disk.ts'
import type { Printable } from '../lib/printed.ts'
import { archivePath, STDIO } from './backup-archive.ts'
import type { Environs } from './command.ts'
import { connect } from './connection.ts'
import { show, type Terminal } from './terminal.ts'

const exportedSchema = z.looseObject({
  file: z.looseObject({ name: z.string(), sha256: z.string() }),
})

/**
 * Writes the data of `person export` to `output` (`-` is stdout), and prints where it is. Default: a
 * new file in the current directory; with `--json` none, because programs read the file of the result.
 */
export async function saveExport(
  result: Json,
  { output, environs, terminal, human }: SaveOptions,
): Promise<void> {
  if (output === undefined && terminal.json) return show(terminal, result, () => '')
  const { file } = exportedSchema.parse(result)
  const path = output === undefined ? freePath(environs.cwd, file.name) : archivePath(output, environs.cwd)
  const daemon = await connect(environs)
  try {
    const content = await daemon.exported(file.sha256)
    await (path === STDIO ? toStdout(content, terminal) : toFile(content, path))
  } catch (error) {
    throw unwritable(path === STDIO ? 'stdout' : path, error)
  }
  const saved = { ...Object(result), output: path }
  // Stdout has only the data.
  const shown = path === STDIO ? { ...terminal, out: terminal.err } : terminal
  show(shown, saved, () => human(saved))
}

/**
 * Throws `state_unwritable` if the file of an export cannot be written. Checked before the export,
 * because the daemon keeps a copy of each.
 */
export function requireWritable({ output, environs, terminal }: SaveOptions): void {
  if (output === undefined && terminal.json) return
  const path = output === undefined ? resolve(environs.cwd, 'export') : archivePath(output, environs.cwd)
  if (path === STDIO) return
  try {
    fs.accessSync(dirname(path), fs.constants.W_OK)
  } catch (error) {
    throw unwritable(path, error)
  }
}

type SaveOptions = {
  output: string | undefined
  environs: Environs
  terminal: Terminal
  human(result: Json): Printable
}

/** The name of the export, or with `-2` if that exists: never overwrites one. */
function freePath(cwd: string, name: string): string {
  const { name: stem, ext } = parse(name)
  let path = resolve(cwd, name)
  for (let number = 2; fs.existsSync(path); number++) path = resolve(cwd, `${stem}-${number}${ext}`)
  return path
}

/** Only its owner may read the file. A failure changes no existing file. */
async function toFile(content: Readable, path: string): Promise<void> {
  const temporary = temporaryName(path)
  try {
    await pipeline(content, fs.createWriteStream(temporary, { fd: disk.open(temporary, 'w'), flush: true }))
    disk.rename(temporary, path)
  } finally {
    disk.remove(temporary)
  }
}

async function toStdout(content: Readable, terminal: Terminal): Promise<void> {
  for await (const part of content.setEncoding('utf8')) terminal.data(String(part))
}
