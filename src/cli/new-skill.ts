import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { TriviumError } from '../core/errors.ts'
import { SHIPPED_SKILLS } from '../daemon/known-skills.ts'
import { discoverSkills } from '../skills/discover.ts'
import { type Environs, loadFor } from './environs.ts'

const NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/

/** `replaces`: the file of the skill of that name, in a later folder, that no longer answers. */
export type NewSkill = { path: string; replaces?: string }

/**
 * Makes a skill's folder in the first skills folder of the configuration. Throws `usage` where that holds a skill of the
 * name, of whichever kind, or the name is bad.
 */
export async function newSkill(
  environs: Environs,
  name: string,
  kind: 'code' | 'markdown',
): Promise<NewSkill> {
  if (!NAME.test(name)) {
    throw new TriviumError('usage', {
      details: `A skill's name has lower-case letters, digits and dashes: not ${name}.`,
    })
  }
  const { folders } = (await loadFor(environs)()).skills
  const parent = folders[0] ?? resolve(environs.cwd, 'skills')
  const existing = (await discoverSkills([parent, ...folders, SHIPPED_SKILLS])).get(name)
  if (existing?.folder === parent) {
    throw new TriviumError('usage', { details: `There is a skill ${name} already: ${existing.path}` })
  }
  const [file, content] = kind === 'code' ? ['index.ts', codeSkill(name)] : ['SKILL.md', markdownSkill(name)]
  const path = join(parent, name, file)
  try {
    await mkdir(join(parent, name), { recursive: true })
    await writeFile(path, content, { flag: 'wx' })
  } catch (cause) {
    throw new TriviumError(
      'usage',
      { details: `${path} cannot be made: ${cause instanceof Error ? cause.message : cause}` },
      { cause },
    )
  }
  return { path, ...(existing ? { replaces: existing.path } : {}) }
}

function codeSkill(name: string): string {
  return `import { defineSkill, z } from 'trivium'

export default defineSkill({
  name: '${name}',
  description: 'Says what it was told.',
  args: z.object({ text: z.string().default('').describe('The text of the message') }),
  async run(ctx) {
    return \`You said: \${ctx.args.text}\`
  },
})
`
}

function markdownSkill(name: string): string {
  return `---
name: ${name}
description: Answers a message.
metadata:
  session: args.sessionId
---
You answer messages briefly and kindly.

:session-history[]

Answer this message: :arg[text]
`
}
