import type { Block } from './blocks.ts'

/**
 * Where a TypeScript block goes in the project of its page, and what runs it there: a program of its
 * own, or a message. With `none`, it is at most loaded.
 */
export type Placed = { path: string; text: string; runner: 'none' | 'node' | 'message' }

/**
 * The daemon loads files that the reader saves, and modules with a default export. Other modules
 * are run as programs. Settings of a skill become a skill, and so do lines of its `run`, which is
 * then called by a message.
 */
export function placeCode(block: Block): Placed {
  const { code, line, saveAs } = block
  const name = snippetName(block)
  if (saveAs) return { path: saveAs, text: code, runner: 'none' }
  if (code.includes(`from '@slack/bolt'`)) return { path: `bolt-${line}.ts`, text: code, runner: 'none' }
  if (/^export default/m.test(code)) {
    const folder = /^ {2}name: '([\w-]+)'/m.exec(code)?.[1] ?? name
    return { path: `skills/${folder}/index.ts`, text: code, runner: 'none' }
  }
  if (/^import /m.test(code)) return { path: `program-${line}.ts`, text: code, runner: 'node' }
  const path = `skills/${name}/index.ts`
  const about = `name: '${name}', description: 'A snippet.', args: z.looseObject({})`
  const head = `import { defineSkill, z } from 'trivium'\n\n`
  if (/^\w+: /.test(code)) {
    const text = `${head}export default defineSkill({ ${about}, run: () => 'done',\n${code}})\n`
    return { path, text, runner: 'none' }
  }
  const done = `await ctx.manager.invoke('state-set', { key: '${name}', value: 'done' })`
  const run = `run: async (ctx) => {\n${code}${done}\n}`
  return { path, text: `${head}export default defineSkill({ ${about}, ${run} })\n`, runner: 'message' }
}

export function snippetName({ line }: Block): string {
  return `snippet-${line}`
}
