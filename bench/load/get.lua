-- get.lua SPREAD: products by a random id.
local common = require("common")
local spread

function init(args)
    common.begin()
    spread = tonumber(args[1])
end

function request()
    return common.product(spread)
end
