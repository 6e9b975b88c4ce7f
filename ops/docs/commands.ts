import { spokenName } from '../../src/cli/grammar.ts'
import { COMMAND_NAMES, main } from '../../src/cli/program.ts'
import { builtInSkills } from '../../src/daemon/built-in-skills.ts'
import { code, page } from './markdown.ts'

const INTRODUCTION = `Every command, as \`trivium <command> --help\` prints it. Each command takes \`--json\`, \`--config\` and
\`--data-dir\`. Exit codes: 0 success, 1 failed, 2 usage or configuration error, 3 no daemon is running, 4 a command waited until its
timeout without a result.`

/** docs/reference/commands.md: the help of each command, and of each skill that ships as a command. */
export async function commandsPage(): Promise<string> {
  const sections: string[] = []
  for (const name of COMMAND_NAMES) sections.push(`### ${code(name)}`, await helpOf(name))
  sections.push(
    '## Skills as commands',
    'Every skill is a command. Your own skills are commands in the same way.',
  )
  // The list of troubles is made by a daemon.
  for (const name of [...builtInSkills.map((skill) => skill.name), 'troubles']) {
    const spoken = spokenName(name)
    sections.push(`### ${code(spoken)}`, await helpOf(spoken))
  }
  return page('Commands', INTRODUCTION, ['## Commands', ...sections])
}

async function helpOf(name: string): Promise<string> {
  let text = ''
  const out = (piece: string) => {
    text += piece
  }
  const code = await main([...name.split(' '), '--help'], {
    env: { PATH: process.env.PATH },
    cwd: process.cwd(),
    out,
    err: out,
  })
  if (code !== 0) throw new Error(`trivium ${name} --help exited with ${code}: ${text}`)
  return `\`\`\`text\n${text.trimEnd()}\n\`\`\``
}
