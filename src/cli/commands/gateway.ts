import { readEnvironment } from '../../config/environment.ts'
import { GATEWAY_NAME } from '../../config/gateways.ts'
import { lineTable } from '../../lib/line-table.ts'
import { noData, withNotes } from '../../lib/printed.ts'
import { type AddCommand, usage } from '../command.ts'
import { showHelpAlone } from '../default-help.ts'
import { providerGateway, providerNamed, providersWith } from '../provider-gateway.ts'
import { providerYaml } from '../provider-yaml.ts'
import { show, type Terminal } from '../terminal.ts'

type Options = { search?: string; name?: string; path?: string; url?: string }

/** `trivium gateway example`; the other verbs of `gateway` are skills. */
export const addGateway: AddCommand = (program, context) => {
  const command = program
    .command('gateway')
    .description('state and traffic of gateways, pauses; receive and send messages; examples for providers')
    .usage('<verb> [options]')
  showHelpAlone(command)
  command
    .command('example')
    .description('the finished gateway of a webhook provider, for routes.yaml; without a name, all providers')
    .argument('[provider]', 'the name of the provider, such as stripe')
    .option('--search <word>', 'list the providers with this word in their names')
    .option('--name <text>', 'the name of the gateway (default: the name of the provider)')
    .option('--path <path>', 'the path of the gateway (default: /hooks/ and its name)')
    .option('--url <address>', 'the public address of Trivium (default: TRIVIUM_PUBLIC_URL)')
    .action(async (provider: string | undefined, options: Options) => {
      if (provider === undefined) return list(context.terminal(), options)
      if (options.search !== undefined) throw usage('give a provider or --search, not both')
      const { cwd, env } = context.environs()
      const { TRIVIUM_PUBLIC_URL } = await readEnvironment(cwd, env)
      const { name, path, url = TRIVIUM_PUBLIC_URL } = checked(options)
      const found = providerGateway(providerNamed(provider), {
        given: provider,
        name,
        path,
        publicUrl: url || undefined,
        isUrlSet: Boolean(TRIVIUM_PUBLIC_URL),
      })
      show(context.terminal(), found, () => providerYaml(found))
    })
}

function list(terminal: Terminal, { search, name, path, url }: Options): void {
  if (name ?? path ?? url) throw usage('name the provider, such as `trivium gateway example stripe`')
  const found = providersWith(search).map((example) => ({
    name: example.id,
    provider: example.name,
    compared: example.isCompared === true,
    also: example.also ?? [],
  }))
  show(terminal, found, () =>
    found.length === 0
      ? noData(
          `No provider has ${JSON.stringify(search)} in its name. docs/webhook-providers.md shows what to do for others.`,
        )
      : withNotes(
          lineTable(
            [
              { title: 'name' },
              { title: 'provider', least: 20 },
              { title: 'compared' },
              { title: 'also', leftOut: 1 },
            ],
            found.map(({ name, provider, compared, also }) => [
              name,
              provider,
              compared ? '✓' : '',
              also.join(', '),
            ]),
          ),
          '✓: compared with a library, a test vector or an example of the provider.',
          '`trivium gateway example NAME` prints the gateway.',
        ),
  )
}

/** Throws `usage` for a name or path that a gateway cannot have. */
function checked(options: Options): Options {
  const { name, path, url } = options
  if (name !== undefined && !GATEWAY_NAME.test(name))
    throw usage(`--name has letters, digits, and _ . - inside, not ${JSON.stringify(name)}`)
  if (path !== undefined && !/^\/[^\s?#]*$/.test(path))
    throw usage(`--path starts with /, without ? and #, not ${JSON.stringify(path)}`)
  if (url !== undefined && !/^https?:\/\/[^\s?#]+$/.test(url))
    throw usage(`--url is an address such as https://hooks.example.com, not ${JSON.stringify(url)}`)
  return options
}
