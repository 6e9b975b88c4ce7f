import { main } from '../../src/cli/program.ts'

/** A sentence about the first command or option in a script that the help does not list, if any. */
export async function commandProblem(script: string): Promise<string | undefined> {
  for (const line of script.split('\n')) {
    const [, words = ''] = /(?:^|[;&|(]\s*|npx )trivium ([^#;|&)]*)/.exec(line) ?? []
    const [name] = words.split(/\s+/)
    if (!name || name.startsWith('-')) continue
    const names = /^(\S+(?: [a-z]+)?)/.exec(words)?.[1]?.split(' ') ?? []
    const help = (await helpOf(names)) ?? (await helpOf(names.slice(0, 1)))
    if (help === undefined) return `there is no command ${name}: ${line}`
    // `trivium message cli hello` runs `message send`.
    const ofDefault = name === 'message' ? await helpOf(['message', 'send']) : ''
    const options = words.match(OPTION) ?? []
    const listed = new Set(`${help} ${ofDefault}`.match(OPTION))
    const unknown = options.find((option) => !listed.has(option) && !GLOBAL.includes(option))
    if (unknown) return `${name} has no option ${unknown}: ${line}`
  }
  return undefined
}

const OPTION = /(?<![\w-])--[a-z][\w-]*/g
const GLOBAL = ['--json', '--config', '--data-dir']

async function helpOf(names: readonly string[]): Promise<string | undefined> {
  let text = ''
  const out = (piece: string) => {
    text += piece
  }
  const io = { env: { PATH: process.env.PATH }, cwd: process.cwd(), out, err: out }
  return (await main([...names, '--help'], io)) === 0 ? text : undefined
}
