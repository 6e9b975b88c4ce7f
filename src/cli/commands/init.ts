import { constants, copyFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { TriviumError } from '../../core/errors.ts'
import { type AddCommand, usage } from '../command.ts'
import { show } from '../terminal.ts'

/** `trivium init`. */
export const addInit: AddCommand = (program, context) => {
  program
    .command('init')
    .description('put a commented routes.yaml into this folder; never overwrites one')
    .action(async () => {
      const { cwd, env, path } = context.environs()
      const target = join(cwd, path ?? (env.TRIVIUM_CONFIG || 'routes.yaml'))
      try {
        await copyFile(await template(), target, constants.COPYFILE_EXCL)
      } catch (cause) {
        const exists = cause instanceof Error && 'code' in cause && cause.code === 'EEXIST'
        const details = exists
          ? `${target} is there already; it was left alone.`
          : `${target} cannot be written: ${cause}`
        throw usage(details, cause)
      }
      show(context.terminal(), { path: target }, () =>
        [
          `Made ${target}.`,
          '',
          '  trivium routes check      is it right?',
          '  trivium start             run it',
        ].join('\n'),
      )
    })
}

/** The routes.yaml that comes with Trivium; it lies above the sources and, in a package, above the built files. */
async function template(): Promise<string> {
  for (const place of ['../../../', '../../../../']) {
    const folder = fileURLToPath(new URL(place, import.meta.url))
    if ((await readdir(folder)).includes('routes.yaml')) return join(folder, 'routes.yaml')
  }
  throw new TriviumError('internal', { reason: 'the routes.yaml that comes with Trivium is missing' })
}
