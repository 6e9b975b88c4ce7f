import { main } from '../../src/cli/program.ts'

/** The first command or option of a script that `trivium --help` does not list; undefined without one. */
export async function commandProblem(script: string): Promise<string | undefined> {
  for (const line of script.split('\n')) {
    const [, words = ''] = /(?:^|[;&|(]\s*|npx )trivium ([^#;|&)]*)/.exec(line) ?? []
    const [name] = words.split(/\s+/)
    if (!name || name.startsWith('-')) continue
    const names = /^(\S+(?: [a-z]+)?)/.exec(words)?.[1]?.split(' ') ?? []
    const help = (await helpOf(names)) ?? (await helpOf(names.slice(0, 1)))
    if (help === undefined) return `there is no command ${name}: ${line}`
    const ofDefault = name === 'message' ? await helpOf(['message', 'send']) : ''
    const options = [...words.matchAll(/(?<=\s)--[a-z-]+/g)].map(([option]) => option)
    const unknown = options.find(
      (option) => ![help, ofDefault].some((text) => text?.includes(option)) && !GLOBAL.includes(option),
    )
    if (unknown) return `${name} has no option ${unknown}: ${line}`
  }
  return undefined
}

const GLOBAL = ['--json', '--config', '--data-dir']

async function helpOf(names: readonly string[]): Promise<string | undefined> {
  let text = ''
  const out = (piece: string) => {
    text += piece
  }
  const io = { env: { PATH: process.env.PATH }, cwd: process.cwd(), out, err: out }
  return (await main([...names, '--help'], io)) === 0 ? text : undefined
}
