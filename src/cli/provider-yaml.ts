import { wrapped } from '../lib/paragraph.ts'
import { type ProviderGateway, READ_FIRST } from './provider-gateway.ts'

/** Width of the comments. */
const WIDTH = 98

/** The gateway of a provider with comments that say what to do: a file that `include` can name. */
export function providerYaml(found: ProviderGateway): string {
  const { provider, documentation, yaml } = found
  const first = found.notes.filter((note) => note.startsWith(READ_FIRST))
  const notes = found.notes.filter((note) => !note.startsWith(READ_FIRST))
  const lines = [
    [provider, ...documentation].join('  '),
    '',
    ...[
      ...first,
      `In routes.yaml, copy the lines below \`gateways:\` and \`routes:\` to those of yours. Or save everything as routes.d/${found.gateway}.yaml, with \`include: [routes.d/*.yaml]\` in routes.yaml.`,
      ...variableStep(found),
      addressStep(found),
      'Let the provider send a test event, watch `trivium tail`, and let the route run a skill of yours.',
    ].flatMap((step, at) => listed(`${at + 1}. `, step)),
    ...(notes.length > 0 ? ['', ...notes.flatMap((note) => listed('- ', note))] : []),
    ...(found.compared
      ? []
      : ['', 'Not compared with the provider: rely on it only after a real test event was accepted.']),
  ]
  return `${lines.map((line) => `# ${line}`.trimEnd()).join('\n')}\n${yaml}`
}

function variableStep({ variables }: ProviderGateway): string[] {
  const lines = Object.entries(variables).map(([name, meaning]) => {
    const [, rest] = /^you choose it(.*)$/.exec(meaning) ?? []
    return rest === undefined
      ? `${name}=…  ${meaning}`
      : `${name}=…  you choose it, such as \`openssl rand -hex 20\`${rest}`
  })
  return lines.length === 0 ? [] : [['Put into .env:', ...lines].join('\n')]
}

function addressStep({ address, variables }: ProviderGateway): string {
  const [name = ''] = Object.keys(variables)
  const hint = address.includes('SECRET') ? `SECRET is the value of ${name}.` : ''
  const isKnown = !/\bHOST\b/.test(address)
  const meaning = isKnown ? '' : ' HOST is the public host name of Trivium.'
  return [`At the provider, enter this address.${meaning}`, address, ...(hint === '' ? [] : [hint])].join(
    '\n',
  )
}

/** An item of a list. Its first line is wrapped, and further lines are indented. */
function listed(bullet: string, text: string): string[] {
  const indent = ' '.repeat(bullet.length)
  const lines = text
    .split('\n')
    .flatMap((line, at) =>
      wrapped(line, WIDTH - 6).map((part, piece) =>
        at === 0 ? part : `${piece === 0 ? '  ' : '    '}${part}`,
      ),
    )
  return lines.map((line, at) => (at === 0 ? bullet : indent) + line)
}
