import { megabytes } from '../../lib/short-text.ts'
import { compactDatabase } from '../../stores/embedded/copy.ts'
import { type AddCommand, usage } from '../command.ts'
import { lockAlone } from '../connection.ts'
import { loadWithDataDir } from '../data-dir.ts'
import { show } from '../terminal.ts'

export const addCompact: AddCommand = (program, context) => {
  program
    .command('compact')
    .description('return free space of trivium.db to the disk; stop the daemon first')
    .action(async () => {
      const { dataDir, redisUrl } = (await loadWithDataDir(context.environs())).daemon
      if (redisUrl !== undefined)
        throw usage('The store is in Redis, which frees space itself: there is nothing to compact.')
      using _lock = await lockAlone(dataDir, context.environs())
      const sizes = compactDatabase(dataDir)
      const { before, after } = sizes
      show(context.terminal(), sizes, () => `${megabytes(before)} before, ${megabytes(after)} now`)
    })
}
