import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { TriviumError } from '../core/errors.ts'
import { type Environs, loadFor } from './environs.ts'

const NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/

/** Makes a skill's folder in the first skills folder of the configuration. Throws `usage` where it exists or the name is bad. */
export async function newSkill(environs: Environs, name: string, kind: 'code' | 'markdown'): Promise<string> {
  if (!NAME.test(name)) {
    throw new TriviumError('usage', {
      details: `A skill's name has lower-case letters, digits and dashes: not ${name}.`,
    })
  }
  const config = await loadFor(environs)()
  const folder = join(config.skills.folders[0] ?? resolve(environs.cwd, 'skills'), name)
  const [file, content] = kind === 'code' ? ['index.ts', codeSkill(name)] : ['SKILL.md', markdownSkill(name)]
  await mkdir(folder, { recursive: true })
  const path = join(folder, file)
  try {
    await writeFile(path, content, { flag: 'wx' })
  } catch (cause) {
    throw new TriviumError(
      'usage',
      { details: `${path} cannot be made: ${cause instanceof Error ? cause.message : cause}` },
      { cause },
    )
  }
  return path
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
