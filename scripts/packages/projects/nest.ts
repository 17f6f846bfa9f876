import 'reflect-metadata'
import { Controller, Injectable, Module, Param, Post } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { LockClient } from '@holdfast/core'
import { Locked, LocksHealthIndicator, LocksModule, currentHold } from '@holdfast/nestjs'

@Injectable()
class Orders {
  @Locked({ name: 'order:{0}' })
  async pay(id: string): Promise<string> {
    return `paid ${id} under the lock ${currentHold()?.lockName}`
  }
}

@Controller('orders')
class OrdersController {
  constructor(
    private readonly orders: Orders,
    private readonly locks: LockClient,
  ) {}

  @Post(':id/pay')
  async pay(@Param('id') id: string): Promise<string> {
    // Redisson's face, which is refused outside contexts here.
    const lock = this.locks.getLock(`orders`)
    await lock.lock()
    try {
      return await this.orders.pay(id)
    } finally {
      await lock.unlock()
    }
  }
}

@Module({
  imports: [LocksModule.forRoot({ redis: process.env.REDIS_URL ?? 'redis://localhost:6379' })],
  controllers: [OrdersController],
  providers: [Orders],
})
class AppModule {}

async function main(): Promise<void> {
  const app = await NestFactory.create(AppModule, { logger: ['error'] })
  await app.listen(0, '127.0.0.1')
  const response = await fetch(`${await app.getUrl()}/orders/7/pay`, { method: 'POST' })
  const health = await app.get(LocksHealthIndicator).check('locks')
  console.log(`${health.locks.status}: ${await response.text()}`)
  await app.close()
}

void main()
