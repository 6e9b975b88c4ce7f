import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { disk, writeWhole } from '../../lib/disk.ts'
import { type DocumentSpec, formatDocument } from '../documents/spec.ts'
import { agentStateDocument, taskBoardDocument } from './documents.ts'
import { openWorkbench } from './project.ts'

/**
 * Writes a project's own workbench into `dir`: a schema and a first document each, a migration scaffold, and a
 * `.gitignore` for what is not for version control. What is there already stays. `openWorkbench` uses what it finds
 * there. Returns what was written.
 */
export async function initWorkbench(dir: string): Promise<string[]> {
  disk.makeDir(join(dir, 'migrations'))
  const written: string[] = []
  const unlessThere = async (name: string, write: (path: string) => Promise<unknown>) => {
    if (existsSync(join(dir, name))) return
    await write(join(dir, name))
    written.push(name)
  }
  for (const spec of [agentStateDocument, taskBoardDocument]) {
    await unlessThere(`${spec.name}.schema.json`, (path) => writeWhole(path, schemaFile(spec)))
  }
  await unlessThere('migrations/agent_state.v2-to-v3.mjs', (path) => writeWhole(path, MIGRATION))
  await unlessThere('.gitignore', (path) => writeWhole(path, '*.lock\n*.tmp\n*.backup.json\n'))
  // Made by the manager, so that they do not count as a person's edit.
  const { manager } = await openWorkbench(dir)
  try {
    for (const name of manager.names()) await unlessThere(`${name}.json`, () => manager.load(name))
  } finally {
    await manager.close()
  }
  return written
}

function schemaFile({ name, schema }: Pick<DocumentSpec, 'name' | 'schema'>): string {
  const $schema = 'https://json-schema.org/draft/2020-12/schema'
  return formatDocument({ $schema, $id: `${name}.schema.json`, title: name, ...schema })
}

const MIGRATION = `/**
 * Turns an agent_state of version 2 into one of version 3. It runs when the schema beside it says version 3 and
 * the document says 2, once, on a copy, with a backup kept. Rename what you need, and return the whole document.
 */
export default function migrate(document) {
  return { ...document }
}
`
