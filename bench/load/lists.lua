-- lists.lua SPREAD: pages of 20 products from anywhere.
local common = require("common")
local spread

function init(args)
    common.begin()
    spread = tonumber(args[1])
end

function request()
    return common.get("/products?limit=20&after=" .. math.random(0, 12500 * spread - 100))
end
