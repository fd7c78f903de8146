-- mix.lua LAST_ID LAG SPREAD: 75 % reads, 20 % creates, 5 % deletes of what was created. Ids go on from LAST_ID in the order of
-- the creates; the newest LAG of them may still be on their way, so they are not deleted.
local common = require("common")
local made, doomed, lag, spread, count, stamp

function init(args)
    common.begin()
    made, lag, spread = tonumber(args[1]), tonumber(args[2]), tonumber(args[3])
    doomed, count, stamp = made, 0, os.time()
end

function request()
    local dice = math.random(100)
    if dice <= 75 then
        return common.product(spread)
    end
    if dice <= 95 or doomed + lag >= made then
        count, made = count + 1, made + 1
        return common.post("/products", string.format(
            '{"sku": "B-%d-%d", "name": "Bench %d", "price_cents": %d, "category_id": %d}',
            stamp, count, count, math.random(100000), math.random(50)))
    end
    doomed = doomed + 1
    return common.delete("/products/" .. doomed)
end
