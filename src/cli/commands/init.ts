import { constants, copyFile } from 'node:fs/promises'
import { configPath } from '../../config/load-config.ts'
import { pathGet } from '../../core/json.ts'
import { type AddCommand, usage } from '../command.ts'
import { ownFile } from '../environs.ts'
import { show } from '../terminal.ts'

/** `trivium init`. */
export const addInit: AddCommand = (program, context) => {
  program
    .command('init')
    .description('put a commented routes.yaml into this folder; never overwrites one')
    .action(async () => {
      const { cwd, env, path } = context.environs()
      const target = configPath(cwd, env, path)
      try {
        await copyFile(ownFile('routes.yaml'), target, constants.COPYFILE_EXCL)
      } catch (cause) {
        const exists = pathGet(cause, 'code') === 'EEXIST'
        const why = exists ? 'is there already; it was left alone.' : `cannot be written: ${cause}`
        throw usage(`${target} ${why}`, cause)
      }
      const next = '  trivium routes check      is it right?\n  trivium start             run it'
      show(context.terminal(), { path: target }, () => `Made ${target}.\n\n${next}`)
    })
}
